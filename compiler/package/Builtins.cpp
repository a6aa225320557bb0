// The memory functions that LLVM may call: hidden in every artifact, so that it needs no library.
#include "compiler/package/Artifact.h"

#include "llvm/IR/Verifier.h"
#include "llvm/AsmParser/Parser.h"
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

std::unique_ptr<llvm::Module> createBuiltins(llvm::LLVMContext &context, const Target &target) {
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(source, diagnostic, context);
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.cpu);
      function.addFnAttr("target-features", target.features);
    }
  return module;
}

} // namespace fathom
