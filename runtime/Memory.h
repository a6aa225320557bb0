// Memory without exceptions: objects and arrays on the C heap, whose allocation can fail and says so.
// The runtime uses these instead of operator new and std::vector, which also keeps it free of the C++ library.
#ifndef FATHOM_RUNTIME_MEMORY_H
#define FATHOM_RUNTIME_MEMORY_H

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace fathom {

// Large enough for every CPU's cache line and vector register.
constexpr size_t Alignment = 64;

constexpr size_t alignUp(size_t Bytes, size_t To) { return (Bytes + To - 1) / To * To; }

template <typename T> T *create() {
  void *Memory = aligned_alloc(Alignment, alignUp(sizeof(T), Alignment));
  return Memory ? new (Memory) T() : nullptr;
}

template <typename T> void destroy(T *Object) {
  if (!Object)
    return;
  Object->~T();
  free(Object);
}

// A zero-filled array whose elements need neither constructor nor destructor.
template <typename T> class Array {
  static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                "elements are moved by realloc");

public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(Data); }

  // Gives an empty array Count zero elements; false when there is no memory.
  [[nodiscard]] bool allocate(size_t Count) {
    Data = static_cast<T *>(calloc(Count ? Count : 1, sizeof(T)));
    Size = Capacity = Data ? Count : 0;
    return Data;
  }

  [[nodiscard]] bool push(const T &Value) {
    if (Size == Capacity) {
      size_t Grown = Capacity ? 2 * Capacity : 64;
      void *Moved = realloc(Data, Grown * sizeof(T));
      if (!Moved)
        return false;
      Data = static_cast<T *>(Moved);
      Capacity = Grown;
    }
    Data[Size++] = Value;
    return true;
  }

  void pop() { --Size; }
  void clear() { Size = 0; }
  void reset() {
    free(Data);
    Data = nullptr;
    Size = Capacity = 0;
  }
  size_t size() const { return Size; }
  T *data() { return Data; }
  const T *data() const { return Data; }
  T &operator[](size_t I) { return Data[I]; }
  const T &operator[](size_t I) const { return Data[I]; }

private:
  T *Data = nullptr;
  size_t Size = 0, Capacity = 0;
};

} // namespace fathom

#endif
