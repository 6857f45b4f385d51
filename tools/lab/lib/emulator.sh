# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The choice of a QEMU for guests. Debian 12's version takes nearly twice the processor time of
# version 10 to emulate the same. So if guests have to be emulated there, the QEMU of Debian's
# backports is unpacked beside the kernels of guests. The installed QEMU stays as it is, and its
# libraries serve both.

LAB_QEMU_MAJOR=10

# emulator_choose ACCELERATOR: print the root folder of a QEMU that is not the installed one, or
# nothing. If that QEMU can't be downloaded, the next try waits for newer package lists.
emulator_choose() {
	local home=$LAB_CACHE/qemu absent=$LAB_CACHE/qemu.absent major
	major=$(qemu-system-x86_64 --version | sed -nE '1s/.*version ([0-9]+).*/\1/p')
	[[ $1 != kvm ]] && ((major < LAB_QEMU_MAJOR)) || return 0
	[[ -e $home/done || ! $absent -nt /var/lib/apt/lists ]] || return 0
	if locked qemu emulator_fetch "$home"; then
		printf '%s\n' "$home"
	else
		say "no newer QEMU in backports: emulating with $major, which takes longer"
		touch "$absent"
	fi
}

# emulator_fetch HOME: from the backports of this Debian, with package lists of its own, as a host
# need not know of backports.
emulator_fetch() {
	local home=$1 new=$1.new codename site apt package
	[[ ! -e $home/done ]] || return 0
	codename=$(. /etc/os-release && [[ $ID == debian ]] && echo "$VERSION_CODENAME") || return
	archive_ready
	site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' \
		"Codename: $codename" | head -n 1)
	[[ $site ]] || return
	say "downloading QEMU of $codename-backports"
	rm -rf "$new"
	mkdir -p "$new"/{lists/partial,cache/archives/partial,deb}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$site $codename-backports main" >"$new/sources.list"
	apt=(apt-get -qq -o Dir::Etc::SourceList="$new/sources.list" -o Dir::Etc::SourceParts=-
		-o Dir::State::Lists="$new/lists" -o Dir::Cache="$new/cache"
		-o Acquire::Languages=none -o APT::Sandbox::User=root)
	"${apt[@]}" update >&2 || return
	(cd "$new/deb" && "${apt[@]}" download qemu-system-{x86,common,data} seabios) >&2 || return
	for package in "$new"/deb/*.deb; do
		dpkg-deb -x "$package" "$new" || return
	done
	"$new/usr/bin/qemu-system-x86_64" --version >/dev/null || return
	rm -rf "$new"/{lists,cache,deb,sources.list,usr/share/doc} "$home"
	touch "$new/done"
	mv "$new" "$home"
}
