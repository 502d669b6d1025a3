/* The one place that holds volk's function pointers; the loader is opened when the plugin starts, nothing is linked. */
#define VOLK_IMPLEMENTATION
#include <volk.h>
