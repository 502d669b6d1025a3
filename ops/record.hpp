// How an op is written. A file of this folder holds a family of ops; each op looks like this:
//
//   TN_OP(lerp) = {.schema = "(Tensor x, Tensor y, Tensor weight) -> Tensor",
//                  .gives = "x + weight·(y - x).",
//                  .example = "lerp(t([0., 0.]), t([1., 1.]), 0.25)",
//                  …,
//                  .decompose = &decomposition::lerp};
//
//   TN_RULE(conv, conv, {.dtypes = …, .shapes = …}) { frame.result(0, frame.tensor(arg::x).dtype(), …); }
//   TN_GRADIENT(mul, {.if_needs = {in_(arg::y), in_(arg::x)}}) { … c.set(arg::x, c.grad() * c.in(arg::y)); }
//   TN_DECOMPOSE(lerp) { out[0] = in.tensor(arg::x) + …; }
//   TN_VIEW(alias) { return …; }
//
// In these bodies arg::NAME is the position of the op's argument, arg::result::NAME that of a result. Where several ops share a
// rule or a formula, its second name is the op whose arguments it uses.
#pragma once

#include "autograd/formula.hpp"
#include "dispatch/op_record.hpp"
#include "ops/composite.hpp"
#include "ops/declarations.hpp"
#include "tenon/schemas.h"

#define TN_OP(name) constinit const ::tenon::core::OpRecord tenon::core::entry::name

// (Frame& frame)
#define TN_RULE(name, op, ...)                                    \
  namespace {                                                     \
  struct Rule_##name {                                            \
    using arg = ::tenon::arg::op;                                 \
    static void infer(::tenon::core::Frame& frame);               \
  };                                                              \
  }                                                               \
  constinit const ::tenon::core::Rule tenon::core::rule::name{    \
      ::tenon::core::RuleFacts __VA_ARGS__, &Rule_##name::infer}; \
  void Rule_##name::infer([[maybe_unused]] ::tenon::core::Frame& frame)

// (GradCall& c)
#define TN_GRADIENT(name, ...) TN_GRADIENT_OF(name, name, __VA_ARGS__)
#define TN_GRADIENT_OF(name, op, ...)                                                          \
  namespace {                                                                                  \
  struct Gradient_##name {                                                                     \
    using arg = ::tenon::arg::op;                                                              \
    static constexpr ::tenon::core::Saves saves() { return ::tenon::core::Saves __VA_ARGS__; } \
    static void apply(::tenon::core::GradCall& c);                                             \
  };                                                                                           \
  }                                                                                            \
  constinit const ::tenon::core::GradFormula tenon::core::gradient::name{                      \
      Gradient_##name::saves(), #name, &Gradient_##name::apply};                               \
  void Gradient_##name::apply([[maybe_unused]] ::tenon::core::GradCall& c)

// (const CompositeArgs& in, Tensor* out)
#define TN_DECOMPOSE(name)                                                                \
  namespace {                                                                             \
  struct Decomposition_##name {                                                           \
    using arg = ::tenon::arg::name;                                                       \
    static void run(const ::tenon::core::CompositeArgs& in, ::tenon::Tensor* out);        \
  };                                                                                      \
  }                                                                                       \
  void tenon::core::decomposition::name(Frame& frame, tn_tensor** outs) {                 \
    run_composite(frame, outs, &Decomposition_##name::run);                               \
  }                                                                                       \
  void Decomposition_##name::run([[maybe_unused]] const ::tenon::core::CompositeArgs& in, \
                                 ::tenon::Tensor* out)

// (Frame& frame, tn_tensor& self), where self is argument 0; returns a new reference
#define TN_VIEW(name)                                                     \
  namespace {                                                             \
  struct View_##name {                                                    \
    using arg = ::tenon::arg::name;                                       \
    static tn_tensor* make(::tenon::core::Frame& frame, tn_tensor& self); \
  };                                                                      \
  }                                                                       \
  tn_tensor* tenon::core::view::name(Frame& frame, tn_tensor& self) {     \
    return View_##name::make(frame, self);                                \
  }                                                                       \
  tn_tensor* View_##name::make([[maybe_unused]] ::tenon::core::Frame& frame, tn_tensor& self)

// (Frame& frame, tn_tensor** outs)
#define TN_RUN(name)                                                                            \
  namespace {                                                                                   \
  struct Run_##name {                                                                           \
    using arg = ::tenon::arg::name;                                                             \
    static void run(::tenon::core::Frame& frame, tn_tensor** outs);                             \
  };                                                                                            \
  }                                                                                             \
  void tenon::core::run::name(Frame& frame, tn_tensor** outs) { Run_##name::run(frame, outs); } \
  void Run_##name::run(::tenon::core::Frame& frame, tn_tensor** outs)

// Formulas and decompositions are written like a user's program.
using namespace tenon;
using namespace tenon::core;
