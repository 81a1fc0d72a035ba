# SPDX-License-Identifier: Apache-2.0
def run(_folder):
    raise NotImplementedError
