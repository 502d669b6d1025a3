// Data: datasets, batches made by worker threads, readers of IDX and CSV files.
#ifndef TENON_DATA_HPP
#define TENON_DATA_HPP

#include "tenon/data/csv.hpp"
#include "tenon/data/dataset.hpp"
#include "tenon/data/idx.hpp"
#include "tenon/data/loader.hpp"

#endif
