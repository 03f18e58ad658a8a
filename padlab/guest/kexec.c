// SPDX-License-Identifier: GPL-2.0-only
/*
 * kexec [-p] KERNEL INITRD COMMAND-LINE: boots another kernel in place of this one, without
 * firmware in between; or with -p only when this one crashes.  Says why if it cannot.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int on_crash = argc == 5 && !strcmp(argv[1], "-p");
	int kernel, initrd;

	argv += on_crash;
	if (argc - on_crash != 4) {
		fprintf(stderr, "usage: kexec [-p] KERNEL INITRD COMMAND-LINE\n");
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (kernel < 0 || initrd < 0) {
		perror("kexec: open");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3],
		    on_crash ? KEXEC_FILE_ON_CRASH : 0UL)) {
		perror("kexec: kexec_file_load");
		return 1;
	}
	if (on_crash)
		return 0;
	reboot(LINUX_REBOOT_CMD_KEXEC);
	perror("kexec: reboot");
	return 1;
}
