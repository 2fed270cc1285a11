#include "base/late_library.h"

#include <dlfcn.h>
#include <string.h>

static int set_pointers(const struct late_library *library, void *handle, struct err *err)
{
	for (size_t i = 0; i < library->function_count; i++) {
		const struct late_function *function = &library->functions[i];
		void *address = dlsym(handle, function->name);

		if (!address)
			return err_set(err, -ENOENT, "library %s has no function %s",
				library->file_name, function->name);
		/* ISO C has no conversion between the two kinds of pointers. */
		memcpy(function->pointer, &address, sizeof(address));
	}
	return 0;
}

int late_library_load(struct late_library *library, struct err *err)
{
	int code = 0;

	lock_take(&library->lock);
	if (!library->handle) {
		void *handle = dlopen(library->file_name, RTLD_NOW | RTLD_LOCAL);

		code = handle ? set_pointers(library, handle, err)
			      : err_set(err, -ENOENT, "load library: %s", dlerror());
		if (code == 0)
			library->handle = handle;
		else if (handle)
			dlclose(handle);
	}
	lock_release(&library->lock);
	return code;
}
