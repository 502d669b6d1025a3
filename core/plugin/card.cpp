#include "plugin/card.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plugin/cpu_features.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

using nlohmann::json;
constexpr uint64_t kMostBytes = 1 << 20;

const json& field(const json& card, const char* name, json::value_t type, const char* what) {
  const auto found = card.find(name);
  if (found == card.end()) fail(TN_DATA_LOSS, "the identity card has no \"{}\"", name);
  const bool fits = found->type() == type ||
                    (type == json::value_t::number_unsigned && found->is_number_unsigned());
  if (!fits) fail(TN_DATA_LOSS, "the identity card's \"{}\" is not {}", name, what);
  return *found;
}
std::string text(const json& card, const char* name) {
  std::string value = field(card, name, json::value_t::string, "a string").get<std::string>();
  if (value.empty() || value.size() > 256)
    fail(TN_DATA_LOSS, "the identity card's \"{}\" has {} bytes", name, value.size());
  return value;
}
uint32_t number(const json& card, const char* name) {
  const auto value =
      field(card, name, json::value_t::number_unsigned, "a number from 0").get<uint64_t>();
  if (value > 0xffff) fail(TN_DATA_LOSS, "the identity card's \"{}\" is {}", name, value);
  return static_cast<uint32_t>(value);
}
std::vector<std::string> list(const json& card, const char* name) {
  std::vector<std::string> values;
  if (!card.contains(name)) return values;
  for (const json& entry : field(card, name, json::value_t::array, "a list")) {
    if (!entry.is_string())
      fail(TN_DATA_LOSS, "the identity card's \"{}\" has an entry that is not a string", name);
    values.push_back(entry.get<std::string>());
  }
  return values;
}

}  // namespace

Card read_card(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) fail(TN_IO, "cannot read the identity card: {}", error.message());
  if (bytes > kMostBytes) fail(TN_DATA_LOSS, "the identity card has {} bytes", bytes);
  std::string content(bytes, '\0');
  if (!std::ifstream(path, std::ios::binary)
           .read(content.data(), static_cast<std::streamsize>(bytes)))
    fail(TN_IO, "cannot read the identity card");
  return parse_card(path, content);
}

Card parse_card(const std::string& path, const std::string& content) {
  try {
    const json parsed = json::parse(content);
    if (!parsed.is_object()) fail(TN_DATA_LOSS, "the identity card is not a JSON object");
    Card card;
    card.path = path;
    card.id = text(parsed, "id");
    card.version = text(parsed, "version");
    const json& abi = field(parsed, "abi", json::value_t::object, "an object");
    card.abi_major = number(abi, "major");
    card.min_host_minor = abi.contains("min_host_minor") ? number(abi, "min_host_minor") : 0;
    card.cpu_features = list(parsed, "cpu_features");
    card.needs = list(parsed, "needs");
    card.only_devices =
        parsed.contains("only_devices") &&
        field(parsed, "only_devices", json::value_t::boolean, "true or false").get<bool>();
    if (parsed.contains("sha256")) card.sha256 = text(parsed, "sha256");
    if (!card.sha256.empty() &&
        (card.sha256.size() != 64 ||
         card.sha256.find_first_not_of("0123456789abcdef") != card.sha256.npos))
      fail(TN_DATA_LOSS, "the identity card's \"sha256\" is not 64 digits of lower-case hex");
    const std::string library = text(parsed, "library");
    if (library.find('/') != library.npos)
      fail(TN_DATA_LOSS,
           "the identity card's \"library\" is a path; a file name beside the card is expected");
    card.library = (std::filesystem::path(path).parent_path() / library).string();
    return card;
  } catch (const json::exception& problem) {
    fail(TN_DATA_LOSS, "the identity card is not JSON: {}", problem.what());
  }
}

void check_abi(uint32_t major, uint32_t min_host_minor, std::string_view built) {
  if (major != TN_ABI_MAJOR)
    fail(TN_INVALID_ARGUMENT, "built for ABI {}; this core has {}.{}", built, TN_ABI_MAJOR,
         TN_ABI_MINOR);
  if (min_host_minor > TN_ABI_MINOR)
    fail(TN_INVALID_ARGUMENT, "needs a core of ABI {}.{} or later; this one has {}.{}", major,
         min_host_minor, TN_ABI_MAJOR, TN_ABI_MINOR);
}

void check_fit(const Card& card) {
  check_abi(card.abi_major, card.min_host_minor, std::to_string(card.abi_major));
  std::string missing;
  for (const std::string& feature : card.cpu_features)
    if (!cpu_has(feature)) missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty()) fail(TN_INVALID_ARGUMENT, "this CPU lacks {}", missing);
}

}  // namespace tenon::core
