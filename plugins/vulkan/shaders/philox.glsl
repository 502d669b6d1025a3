// Philox 4x32-10 as in sdk/include/tenon/philox.hpp: the same numbers on every backend. Words: seed, offset, two words each.
const uint kSeed = 1u, kOffset = 3u;  // where they begin

uvec4 philox4x32_10(uvec4 counter, uvec2 key) {
  for (uint round = 0; round < 10; ++round) {
    uint ah, al, bh, bl;
    umulExtended(0xD2511F53u, counter.x, ah, al);
    umulExtended(0xCD9E8D57u, counter.z, bh, bl);
    counter = uvec4(bh ^ counter.y ^ key.x, bl, ah ^ counter.w ^ key.y, al);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// Block b after the call's offset.
uvec4 block_at(uint b) {
  uint carry;
  const uint low = uaddCarry(push.word[kOffset], b, carry);
  return philox4x32_10(uvec4(low, push.word[kOffset + 1u] + carry, 0u, 0u), uvec2(push.word[kSeed], push.word[kSeed + 1u]));
}
