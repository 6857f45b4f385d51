# SPDX-License-Identifier: GPL-2.0
# Sphinx: "make docs".

project = "smc"
author = "The smc project"
extensions = []
exclude_patterns = []
html_theme = "alabaster"
html_show_copyright = False
highlight_language = "none"
