/* Folders of tasks: files, and folders of volumes with whatever programs left in them. */
#ifndef RUNTIME_TASK_FOLDER_H
#define RUNTIME_TASK_FOLDER_H

#include "base/err.h"

/* With all that is in it; one that is not there is fine. */
int folder_remove(const char *path, struct err *err);

#endif
