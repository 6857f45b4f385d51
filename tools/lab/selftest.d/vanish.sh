#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest that goes like a host without power, as a test wants it to.
# lab-passes
# lab-run: -n 2
# lab-says: passed

lab-barrier start
((LAB_NODE == 0)) || lab-vanish
until ! busybox ping -c 1 -W 1 "$LAB_IP4_1"; do :; done
