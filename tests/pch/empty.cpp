// A library needs a unit; this one is for the precompiled header beside it.
