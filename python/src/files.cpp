// Files, by the readers and writers of libs/: what C++ takes and refuses, Python does.
#include "files.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "guard.hpp"
#include "tenon/data/idx.hpp"
#include "tenon/io.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// What fn() returns, without the interpreter lock. A file that is not there is an OSError like any other that cannot be read.
template <class Fn>
auto run(Fn&& fn) {
  std::optional<decltype(fn())> result;
  const bool good = guarded(false, [&] {
    try {
      const nb::gil_scoped_release released;
      result.emplace(fn());
      return true;
    } catch (const Error& error) {
      throw Error(error.code() == TN_NOT_FOUND ? TN_IO : error.code(), error.what());
    }
  });
  if (!good) throw nb::python_error();
  return *std::move(result);
}

// Of os.fsencode().
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }
nb::object object_of(Tensor tensor) {
  nb::object object = nb::steal(wrap(std::move(tensor)));
  if (!object.is_valid()) throw nb::python_error();
  return object;
}
nb::str text_of(const std::string& text) { return nb::str(text.data(), text.size()); }

nb::dict load(const nb::bytes& given) {
  const std::string path = path_of(given);
  auto tensors = run([&] {
    return io::detail::with_memory_errors("[load] " + path, [&] {
      const io::detail::InputFile file(path, "load");
      const io::detail::Header header = io::detail::read_header(file);
      std::vector<std::pair<std::string, Tensor>> all;
      for (const io::detail::Entry& entry : header.entries)
        all.emplace_back(entry.name, io::detail::read_tensor(file, entry, header.base, {}));
      return all;
    });
  });
  nb::dict found;
  for (auto& [name, x] : tensors) found[text_of(name)] = object_of(std::move(x));
  return found;
}

nb::dict load_metadata(const nb::bytes& given) {
  const std::string path = path_of(given);
  const io::Metadata metadata = run([&] {
    return io::detail::with_memory_errors("[load_metadata] " + path, [&] {
      return io::detail::read_header(io::detail::InputFile(path, "load_metadata")).metadata;
    });
  });
  nb::dict found;
  for (const auto& [name, text] : metadata) found[text_of(name)] = text_of(text);
  return found;
}

// tenon/io.py has looked at the types.
void save(const nb::bytes& given, const nb::dict& tensors, const nb::dict& metadata) {
  const std::string path = path_of(given);
  io::TensorMap map;
  for (const auto& [name, x] : tensors)
    map.emplace(nb::cast<std::string>(name), tensor_of(x.ptr()));
  io::Metadata texts;
  for (const auto& [name, text] : metadata)
    texts.emplace(nb::cast<std::string>(name), nb::cast<std::string>(text));
  run([&] { return io::detail::save(path, map, texts, "save"), true; });
}

// Of GGUF metadata: a text that is not UTF-8 keeps its bytes as lone surrogates, as os.fsdecode() does it.
nb::object object_of(const io::GgufValue& found) {
  return std::visit(
      [](const auto& x) -> nb::object {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return nb::steal(
              PyUnicode_DecodeUTF8(x.data(), static_cast<Py_ssize_t>(x.size()), "surrogateescape"));
        } else if constexpr (std::is_same_v<T, std::vector<io::GgufValue>>) {
          nb::list list;
          for (const io::GgufValue& value : x) list.append(object_of(value));
          return list;
        } else {
          return nb::cast(x);
        }
      },
      found.value);
}

// tenon/io.py made sure that it is a dtype.
nb::tuple load_gguf(const nb::bytes& given, nb::handle dtype) {
  const std::string path = path_of(given);
  tn_dtype code = 0;
  if (!to_dtype(dtype.ptr(), code)) throw nb::python_error();
  io::Gguf file = run([&] { return io::load_gguf(path, {.dtype = static_cast<DType>(code)}); });
  nb::dict tensors, metadata;
  for (auto& [name, x] : file.tensors)
    tensors[object_of(io::GgufValue{name})] = object_of(std::move(x));
  for (const auto& [name, value] : file.metadata)
    metadata[object_of(io::GgufValue{name})] = object_of(value);
  return nb::make_tuple(tensors, metadata);
}

nb::object read_idx(const nb::bytes& path) {
  return object_of(run([file = path_of(path)] { return data::read_idx(file); }));
}

}  // namespace

void add_files(nb::module_& module) {
  module.def("_load", &load);
  module.def("_load_metadata", &load_metadata);
  module.def("_load_gguf", &load_gguf);
  module.def("_save", &save);
  module.def("_read_idx", &read_idx);
}

}  // namespace tenon::python
