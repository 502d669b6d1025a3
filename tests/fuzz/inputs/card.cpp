// Identity cards: an accepted card names a library beside it.
#include "plugin/card.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(card) {
  accepted([&] {
    const core::Card card = core::parse_card("/cards/x.tenon.json", std::string(bytes));
    require(!card.id.empty() && !card.version.empty(), "a field is empty");
    require(card.library.starts_with("/cards/") &&
                card.library.find('/', std::strlen("/cards/")) == card.library.npos,
            "a library that is elsewhere");
    require(card.sha256.empty() || card.sha256.size() == 64, "a hash of another length");
    core::check_fit(card);
  });
}
