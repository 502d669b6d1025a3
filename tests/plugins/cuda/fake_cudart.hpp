#pragma once

// The device's compute capability, major·10 + minor.
extern int fake_architecture;
