# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Debian packages without installing them: versions, downloads, unpacking.

# A machine that never ran apt-get update has no package lists. A command that only asks, as the
# makefile does for whoever builds, leaves it so.
archive_ready() {
	local lists=(/var/lib/apt/lists/*_Packages*)
	[[ -e ${lists[0]} || ${LAB_ASKS:-} ]] && return
	say 'no package lists, running apt-get update'
	apt-get -qq update >&2 || die 'apt-get update failed (are you root?)'
}

# archive_show PACKAGE: what apt knows of its newest version, or nothing. The answer is kept until
# there are other lists: where apt keeps no index of them, each question costs it a second.
archive_show() {
	local kept=$LAB_CACHE/archive/$1 new=$LAB_CACHE/archive/$1.$BASHPID
	archive_ready
	if [[ ! $kept -nt /var/lib/apt/lists ]]; then
		mkdir -p "${kept%/*}"
		apt-cache show --no-all-versions "$1" >"$new" 2>/dev/null
		mv "$new" "$kept"
	fi
	cat "$kept"
}

# archive_version PACKAGE: the newest version that apt knows, or nothing.
archive_version() { archive_show "$1" | sed -n 's/^Version: //p'; }

# archive_depends PACKAGE: the first package that it depends on.
archive_depends() { archive_show "$1" | sed -n 's/^Depends: \([^ ,]*\).*/\1/p'; }

# archive_unpack PACKAGE VERSION DIR: download and unpack into DIR. Newer releases of Debian have
# in usr/lib what older ones have in lib: what a kernel's package brings is in lib afterwards.
archive_unpack() {
	local package=$1 version=$2 dir=$3
	archive_ready
	need dpkg-deb dpkg
	rm -rf "$dir"
	mkdir -p "$dir/deb"
	say "downloading $package $version"
	(cd "$dir/deb" && apt-get -qq -o APT::Sandbox::User=root download "$package=$version") >&2 ||
		{ say "cannot download $package $version"; return 1; }
	dpkg-deb -x "$dir"/deb/*.deb "$dir" || return
	rm -r "$dir/deb"
	[[ ! -d $dir/usr/lib/modules ]] || { mkdir -p "$dir/lib" && mv "$dir/usr/lib/modules" "$dir/lib/"; }
}
