// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time stamp counter in kHz. QEMU's emulation shows a
 * guest the same counter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define SPAN_NS		100000000LL
#define TRIES		50

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long measure_khz(void)
{
	long long start = now_ns(), end;
	unsigned long long ticks = __rdtsc();

	do
		end = now_ns();
	while (end < start + SPAN_NS);
	ticks = __rdtsc() - ticks;
	return ticks * 1000000 / (end - start);
}

/* Two that agree to a thousandth: neither was interrupted at a bad moment. */
int main(void)
{
	long last = measure_khz(), khz;
	int i;

	for (i = 0; i < TRIES; i++) {
		khz = measure_khz();
		if (labs(khz - last) <= khz / 1000) {
			printf("%ld\n", khz);
			return 0;
		}
		last = khz;
	}
	fprintf(stderr, "tsc: the counter has no steady frequency\n");
	return 1;
}
