# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Options of "lab run" and "lab shell", as the variables LAB_* and OPT_*.

# options_per_guest WHAT VALUE ARRAY: VALUE is one for all guests, or a list of
# GUEST=VALUE; the guests not named keep what they have.
options_per_guest() {
	local what=$1 value=$2 item
	local -n list=$3
	if [[ $value != [0-9]*=* ]]; then
		list[all]=$value
		return
	fi
	for item in ${value//,/ }; do
		[[ $item =~ ^([0-9]+)=(.+)$ ]] || die "$what '$value': want GUEST=VALUE,..."
		list[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
	done
}

options_number() {
	[[ $2 =~ ^[0-9]+$ ]] && ((10#$2 >= $3 && 10#$2 <= $4)) ||
		die "$1 '$2': want a number from $3 to $4"
}

options_spread() {
	local what=$1 guest
	local -n from=$2 to=$3
	to=()
	for guest in "${!from[@]}"; do
		[[ $guest == all ]] || ((guest < LAB_NODES)) ||
			die "$what names guest $guest, but there are $LAB_NODES"
	done
	for ((guest = 0; guest < LAB_NODES; guest++)); do
		to[guest]=${from[$guest]:-${from[all]}}
	done
}

# options_parse INTERACTIVE ARGS...: leaves the script, by its absolute path as
# guests see it at the same place, and its arguments in LAB_COMMAND.
options_parse() {
	declare -gA OPT_kernels=([all]=6.12) OPT_smc=([all]=ours)
	declare -ga LAB_KERNELS LAB_SMCS LAB_COMMAND OPT_env=()
	LAB_NODES=1 LAB_LANS=1 LAB_MTU=1500 OPT_memory='' OPT_cpus=2
	OPT_outdir='' OPT_limit=900 LAB_ALLOW_DMESG='' OPT_verbose=0
	LAB_BUILD=$(realpath -m -- "${O:-$LAB_REPO/build}")
	OPT_tty=$1
	((!OPT_tty)) || OPT_limit=0
	shift
	while [[ ${1:-} == -* ]]; do
		case $1 in
		-v | --verbose) OPT_verbose=1; shift; continue ;;
		--) shift; break ;;
		esac
		(($# > 1)) || die "$1 wants a value"
		case $1 in
		-n) options_number "$1" "$2" 1 32; LAB_NODES=$2 ;;
		-k) options_per_guest "$1" "$2" OPT_kernels ;;
		-m) options_number "$1" "$2" 256 1048576; OPT_memory=$2 ;;
		-c) options_number "$1" "$2" 1 64; OPT_cpus=$2 ;;
		-o) OPT_outdir=$2 ;;
		-t) options_number "$1" "$2" 1 1000000; OPT_limit=$2 ;;
		-e)
			[[ $2 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || die "-e '$2': want VAR=VALUE"
			OPT_env+=("$2")
			;;
		--smc) options_per_guest "$1" "$2" OPT_smc ;;
		--lans) options_number "$1" "$2" 1 8; LAB_LANS=$2 ;;
		--mtu) options_number "$1" "$2" 1280 65521; LAB_MTU=$2 ;;
		--allow-dmesg) LAB_ALLOW_DMESG+=${LAB_ALLOW_DMESG:+$'\n'}$2 ;;
		*) die "unknown option $1 (tools/lab/lab help)" ;;
		esac
		shift 2
	done
	LAB_COMMAND=("$@")
	options_script
	options_spread -k OPT_kernels LAB_KERNELS
	options_spread --smc OPT_smc LAB_SMCS
	local n smc
	for n in "${!LAB_SMCS[@]}"; do
		smc=${LAB_SMCS[n]}
		[[ $smc =~ ^(ours|tree|none)$ ]] || die "--smc '$smc': ours, tree or none"
		[[ $smc != tree || ${LAB_KERNELS[n]} != debug ]] ||
			die '--smc tree: the debug kernel has no smc of its own'
	done
}

options_script() {
	local script
	if ((${#LAB_COMMAND[@]} == 0)); then
		((OPT_tty)) || die 'no script (tools/lab/lab help)'
		return 0
	fi
	script=$(realpath -e -- "${LAB_COMMAND[0]}" 2>/dev/null)
	[[ -f $script && -r $script ]] || die "no such script: ${LAB_COMMAND[0]}"
	LAB_COMMAND[0]=$script
}
