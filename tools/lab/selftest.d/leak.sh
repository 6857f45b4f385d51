#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Kernel memory that nobody frees, found by kmemleak.
# lab-debug-only
# lab-run: -t 300
# lab-says: \[g0 kmemleak\].*unreferenced object
# lab-says: g0: the kernel complained

modprobe kmemleak-test
