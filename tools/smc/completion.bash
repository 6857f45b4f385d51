# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# bash's completion of smc(8): what its help says may follow, and the names of devices.

_smc() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=() word
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word == -* ]] || words+=("$word")
	done
	case ${words[0]:-}.$previous in
	pnet.dev) words=(/sys/class/net/*) words=("${words[@]##*/}") ;;
	pnet.ib) words=(/sys/class/infiniband/*) words=("${words[@]##*/}") ;;
	*)
		# shellcheck disable=SC2207
		words=($("${COMP_WORDS[0]}" "${words[@]}" --help 2>/dev/null |
			awk '/^Subcommands:/ { is_there = 1; next } is_there { print $1 }'))
		;;
	esac
	[[ $current != -* ]] || words=(--help --json --version)
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
}

complete -F _smc smc
