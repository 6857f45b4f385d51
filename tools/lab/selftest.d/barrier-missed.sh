#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A script ends without coming to the barrier where the other waits.
# lab-run: -n 2
# lab-says: \[g0\] lab-barrier meet: g1 does not come, its script has ended
# lab-says: g0: the script ended with status 1

((LAB_NODE == 1)) || lab-barrier meet
