#pragma once

// The device's, major·10 + minor.
extern int fake_architecture;
