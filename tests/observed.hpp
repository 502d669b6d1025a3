// What tests look at: the message of an error, the bytes of a tensor.
#pragma once

#include <string>
#include <vector>

#include "tenon/tensor.hpp"

namespace tenon::test {

// The message of the Error that fn throws; "" if it throws none.
template <class Fn>
std::string error_of(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::vector<char> bytes_of(const Tensor& x) {
  std::vector<char> bytes(x.nbytes());
  x.contiguous().to_host(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace tenon::test
