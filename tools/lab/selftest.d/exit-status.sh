#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A script that ends with a status other than 0.
# lab-says: g0: the script ended with status 3

exit 3
