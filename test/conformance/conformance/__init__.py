# SPDX-License-Identifier: Apache-2.0
"""Two sidecars, one after the other, on the same real API server and scripted driver; their recordings are compared."""
