/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtraceevent's plugins are loaded by the dynamic linker, which a static program has not.  The
 * recorder never asks for them; this is the one function through which the rest of the library
 * would bring them in.
 */
struct tep_handle;

void free_tep_plugin_paths(struct tep_handle *tep);

void free_tep_plugin_paths(struct tep_handle *tep)
{
	(void)tep;
}
