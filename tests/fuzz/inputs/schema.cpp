// Schema strings, which plugins bring: a schema that parses has names, and its text parses again to the same schema.
#include "dispatch/op.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(schema) {
  accepted([&] {
    const core::Schema schema = core::parse_schema(bytes);
    require(!schema.name.empty(), "an op without a name");
    const core::Schema again = core::parse_schema(schema.text);
    require(again.name == schema.name && again.revision == schema.revision &&
                again.results == schema.results && again.args.size() == schema.args.size(),
            "the text of a schema is another schema");
    for (size_t i = 0; i < schema.args.size(); ++i) {
      const core::ArgSpec &a = schema.args[i], &b = again.args[i];
      require(!a.name.empty() && a.name == b.name && a.type == b.type && a.list == b.list &&
                  a.has_default == b.has_default && a.default_ints == b.default_ints,
              "an argument changed");
      if (a.default_value.tag == TN_VALUE_STR)
        require(a.default_value.as.str == a.default_text.data(), "a default of other memory");
      if (a.default_value.tag == TN_VALUE_INTS)
        require(a.default_value.as.ints == a.default_ints.data(), "a default of other memory");
    }
  });
}
