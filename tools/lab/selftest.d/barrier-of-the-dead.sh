#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest dies while the other waits for it at a barrier.
# lab-run: -n 2
# lab-says: \[g0\] lab-barrier meet: g1 does not come, the guest has died
# lab-says: g1: the guest died
# lab-says: g0: the script ended with status 1

lab-barrier start
((LAB_NODE == 0)) || echo c >/proc/sysrq-trigger
lab-barrier meet
