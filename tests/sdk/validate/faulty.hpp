// A backend that does wrong on request, and what tests request of it.
#pragma once

#include <cstdint>

namespace tenon::test {

// Breaches of the contract, each committed by the next call of its slot.
enum class Misdeed : uint32_t {
  None,
  NoBuffer,
  SameBuffer,
  NoAddress,
  CrookedAddress,
  ForgedStatus,
  ReleasedStatus,
  StatusReleasedTwice,
  NoErrorCode,
  MessageNotText,
  LogLevel,
  Throws,
  ThrowsNumber,
  SkipsElement,
  WritesBehind,
  CopiesBehind,
  WritesFarBehind,
  WritesInput,
  WritesShape,
  WritesLoop,
  FreesOutput,
  Crashes,
  Exits,
  WritesAfterFree,
  AnswersTwo,
  AnswersInTurns,
  SamePlan,
  HugeScratch,
  OutputTooLate,
  RegistersLate,
  GrowsStruct,
  NameNotText,
  KindUnknown,
  MoreFreeThanThere,
  NegativeResult,
  ResizesResult,
  InfersAnother,
  KeepsReference,
  BorrowedResult,
  ReleasesBorrowed,
  GradientTooLate,
  SavesMore,
  LayerBorrows,
  CountsAnew,
};

struct FaultyControl {
  Misdeed misdeed = Misdeed::None;
  // Honest failures. Calls of slots that return a status are counted from 1.
  uint64_t calls = 0, fail_at = 0;
  uint64_t allocations = 0, fail_allocation = 0;
  uint32_t code = 0;                  // of the failing call
  bool lost = false;                  // as after TN_DEVICE_LOST: all calls fail from then on
  uint64_t capacity = ~0ull;          // bytes
  const char* fails_later = nullptr;  // the op whose work fails after run has returned
  bool anonymous = false;             // and the failure's text does not name the op
  const char* throws = nullptr;       // the op whose kernel throws, behind the SDK's barrier
  // The objects that are alive.
  int64_t blocks = 0, bytes = 0, streams = 0, events = 0, plans = 0;
};

constexpr const char kControlInterface[] = "test.faulty.control";

}  // namespace tenon::test
