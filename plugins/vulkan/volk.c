/* The one place that contains volk's function pointers. The loader is opened when the plugin starts; nothing is linked. */
#define VOLK_IMPLEMENTATION
#include <volk.h>
