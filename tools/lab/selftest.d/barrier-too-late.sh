#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest comes to a barrier after the other's script has ended.
# lab-run: -n 2
# lab-says: \[g0\] lab-barrier meet: g1 does not come, its script has ended
# lab-says: g0: the script ended with status 1

((LAB_NODE == 0)) || exit 0
until ! lab-barrier meet; do :; done
exit 1
