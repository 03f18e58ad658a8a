/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FS_HUGETLBFS_POPULATE_H
#define _FS_HUGETLBFS_POPULATE_H

#include <linux/types.h>

struct file;
struct vm_area_struct;

int hugetlbfs_populate(struct file *file, struct vm_area_struct *pseudo_vma,
		       pgoff_t start, pgoff_t end);

#endif /* _FS_HUGETLBFS_POPULATE_H */
