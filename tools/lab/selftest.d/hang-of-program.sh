#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A program that never ends: sockets and tasks are dumped.
# lab-run: -t 15
# lab-says: g0: hang: the script has not ended
# lab-says: \[g0 hang\].*:4242
# lab-says: \[g0 hang\].*sleep infinity

busybox nc -l -p 4242 &
sleep infinity
