// The functions that LLVM may call, for memory and for 16-bit floats: hidden in every artifact, so that it needs no
// library.
#include "compiler/codegen/cpu/Builtins.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

namespace fathom {

// Byte loops with a 16-byte main loop. "no-builtins" keeps LLVM from turning them into calls of themselves.
static constexpr char source[] = R"(
define hidden ptr @memset(ptr noalias returned %p, i32 %c, i64 %n) #0 {
entry:
  %byte = trunc i32 %c to i8
  %v0 = insertelement <16 x i8> poison, i8 %byte, i64 0
  %v = shufflevector <16 x i8> %v0, <16 x i8> poison, <16 x i32> zeroinitializer
  %bulk = and i64 %n, -16
  %any = icmp ne i64 %bulk, 0
  br i1 %any, label %wide, label %tail
wide:
  %i = phi i64 [ 0, %entry ], [ %i.next, %wide ]
  %q = getelementptr i8, ptr %p, i64 %i
  store <16 x i8> %v, ptr %q, align 1
  %i.next = add i64 %i, 16
  %more = icmp ult i64 %i.next, %bulk
  br i1 %more, label %wide, label %tail
tail:
  %rest = icmp ult i64 %bulk, %n
  br i1 %rest, label %bytes, label %done
bytes:
  %j = phi i64 [ %bulk, %tail ], [ %j.next, %bytes ]
  %r = getelementptr i8, ptr %p, i64 %j
  store i8 %byte, ptr %r, align 1
  %j.next = add i64 %j, 1
  %again = icmp ult i64 %j.next, %n
  br i1 %again, label %bytes, label %done
done:
  ret ptr %p
}

define hidden ptr @memcpy(ptr noalias returned %p, ptr noalias %s, i64 %n) #0 {
entry:
  %bulk = and i64 %n, -16
  %any = icmp ne i64 %bulk, 0
  br i1 %any, label %wide, label %tail
wide:
  %i = phi i64 [ 0, %entry ], [ %i.next, %wide ]
  %a = getelementptr i8, ptr %s, i64 %i
  %v = load <16 x i8>, ptr %a, align 1
  %q = getelementptr i8, ptr %p, i64 %i
  store <16 x i8> %v, ptr %q, align 1
  %i.next = add i64 %i, 16
  %more = icmp ult i64 %i.next, %bulk
  br i1 %more, label %wide, label %tail
tail:
  %rest = icmp ult i64 %bulk, %n
  br i1 %rest, label %bytes, label %done
bytes:
  %j = phi i64 [ %bulk, %tail ], [ %j.next, %bytes ]
  %c = getelementptr i8, ptr %s, i64 %j
  %x = load i8, ptr %c, align 1
  %r = getelementptr i8, ptr %p, i64 %j
  store i8 %x, ptr %r, align 1
  %j.next = add i64 %j, 1
  %again = icmp ult i64 %j.next, %n
  br i1 %again, label %bytes, label %done
done:
  ret ptr %p
}

attributes #0 = { nounwind "no-builtins" }
)";

// Conversions of 16-bit floats for CPUs without instructions for them, rounding to nearest even. A double is first
// rounded to a float whose last bit says whether anything was cut off ("to odd"), so that rounding twice is rounding
// once.
static constexpr char halfSource[] = R"(
define hidden float @__extendhfsf2(half %h) #0 {
  %bits16 = bitcast half %h to i16
  %bits = zext i16 %bits16 to i32
  %magnitude = and i32 %bits, 32767
  %shifted = shl i32 %magnitude, 13
  %exponent = and i32 %shifted, 260046848
  %biased = add i32 %shifted, 939524096
  %special = icmp eq i32 %exponent, 260046848
  %again = add i32 %biased, 939524096
  %tiny = icmp eq i32 %exponent, 0
  %next = add i32 %biased, 8388608
  %next.float = bitcast i32 %next to float
  %renormal = fsub float %next.float, 0x3F10000000000000
  %renormal.bits = bitcast float %renormal to i32
  %one = select i1 %special, i32 %again, i32 %biased
  %all = select i1 %tiny, i32 %renormal.bits, i32 %one
  %sign16 = and i32 %bits, 32768
  %sign = shl i32 %sign16, 16
  %result = or i32 %all, %sign
  %float = bitcast i32 %result to float
  ret float %float
}

define hidden half @__truncsfhf2(float %x) #0 {
  %bits = bitcast float %x to i32
  %sign = and i32 %bits, -2147483648
  %magnitude = xor i32 %bits, %sign
  %isnan = icmp ugt i32 %magnitude, 2139095040
  %payload = lshr i32 %magnitude, 13
  %payload.low = and i32 %payload, 511
  %nan = or i32 %payload.low, 32256
  %large = select i1 %isnan, i32 %nan, i32 31744
  %magnitude.float = bitcast i32 %magnitude to float
  %aligned = fadd float %magnitude.float, 5.0e-1
  %aligned.bits = bitcast float %aligned to i32
  %small = sub i32 %aligned.bits, 1056964608
  %odd = and i32 %payload, 1
  %rebiased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebiased, %odd
  %normal = lshr i32 %rounded, 13
  %islarge = icmp uge i32 %magnitude, 1199570944
  %issmall = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %issmall, i32 %small, i32 %normal
  %either = select i1 %islarge, i32 %large, i32 %finite
  %sign16 = lshr i32 %sign, 16
  %result = or i32 %either, %sign16
  %result16 = trunc i32 %result to i16
  %half = bitcast i16 %result16 to half
  ret half %half
}

define hidden bfloat @__truncsfbf2(float %x) #0 {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %up = add i32 %bits, 32767
  %rounded = add i32 %up, %odd
  %number = lshr i32 %rounded, 16
  %quiet = or i32 %high, 64
  %isnan = fcmp uno float %x, %x
  %result = select i1 %isnan, i32 %quiet, i32 %number
  %result16 = trunc i32 %result to i16
  %bfloat = bitcast i16 %result16 to bfloat
  ret bfloat %bfloat
}

define internal float @round_to_odd(double %x) #0 {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %size = call double @llvm.fabs.f64(double %x)
  %back.size = call double @llvm.fabs.f64(double %back)
  %bits = bitcast float %near to i32
  %away = fcmp ogt double %back.size, %size
  %step = zext i1 %away to i32
  %cut = sub i32 %bits, %step
  %inexact = fcmp one double %back, %x
  %sticky = zext i1 %inexact to i32
  %result = or i32 %cut, %sticky
  %float = bitcast i32 %result to float
  ret float %float
}

define hidden half @__truncdfhf2(double %x) #0 {
  %float = call float @round_to_odd(double %x)
  %half = call half @__truncsfhf2(float %float)
  ret half %half
}

define hidden bfloat @__truncdfbf2(double %x) #0 {
  %float = call float @round_to_odd(double %x)
  %bfloat = call bfloat @__truncsfbf2(float %float)
  ret bfloat %bfloat
}

declare double @llvm.fabs.f64(double)
)";

std::unique_ptr<llvm::Module> createBuiltins(llvm::LLVMContext &context, const Target &target) {
  llvm::SMDiagnostic diagnostic;
  std::string text = source;
  if (!target.isAArch64()) // which converts in hardware
    text += halfSource;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.cpu);
      function.addFnAttr("target-features", target.features);
    }
  return module;
}

} // namespace fathom
