// Functions of C++ as functions of Python: `bind` adds one to a module, or one more overload of a name.
//
// Arguments are arrays of NumPy, taken as they are through the buffer protocol (type, dimensions and order must match: a
// silent copy of an output would lose it), and numbers. The interpreter lock is released while a function runs. Only
// `load` and `call` do work; templates merely list the types of arguments, which keeps them quick to compile.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace halfseen::python {

template <class T, int N>
struct Array {
    T* start;
    std::size_t sizes[N];

    T* data() const { return start; }
    std::size_t shape(int d) const { return sizes[d]; }
};

// What an argument must be.
struct Spec {
    char kind;        // i, u or f: signed, unsigned, floating; ? for a truth value
    int size;         // bytes of a number
    int n_dims;       // 0: not an array
    bool writes;
};

struct Argument {
    Py_buffer buffer;
    bool taken = false;  // the buffer, which is given back at the end
    double real = 0;
    std::int64_t whole = 0;

    Argument() {}
    Argument(const Argument&) = delete;
    ~Argument() {
        if (taken) PyBuffer_Release(&buffer);
    }
};

template <class T>
constexpr char KIND = std::is_same_v<T, bool> ? '?' : std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';

template <class T>
struct As {  // a number
    static constexpr Spec SPEC{KIND<T>, sizeof(T), 0, false};
    static T from(const Argument& argument) { return T(KIND<T> == 'f' ? argument.real : argument.whole); }
};
template <class T, int N>
struct As<Array<T, N>> {
    static constexpr Spec SPEC{KIND<std::remove_const_t<T>>, sizeof(T), N, !std::is_const_v<T>};
    static Array<T, N> from(const Argument& argument) {
        Array<T, N> array{static_cast<T*>(argument.buffer.buf), {}};
        for (int d = 0; d < N; ++d) array.sizes[d] = std::size_t(argument.buffer.shape[d]);
        return array;
    }
};

struct Unlocked {
    PyThreadState* state = PyEval_SaveThread();
    ~Unlocked() { PyEval_RestoreThread(state); }
};

// Whether n objects are what they must be; fills the arguments.
bool load(const Spec* specs, std::size_t n, PyObject* const* objects, Argument* arguments);

inline PyObject* as_object(double value) { return PyFloat_FromDouble(value); }
inline PyObject* as_object(bool value) { return PyBool_FromLong(value); }
inline PyObject* as_object(const char* text) { return PyUnicode_FromString(text); }
template <class Whole>
    requires std::is_integral_v<Whole>
PyObject* as_object(Whole value) {
    return PyLong_FromLongLong(static_cast<long long>(value));
}

// Call a function without captures; null without an error: the arguments do not fit.
template <class Function, class Result, class... Args, std::size_t... I>
PyObject* call(Result (Function::*)(Args...) const, std::index_sequence<I...>, PyObject* const* objects) {
    static constexpr Spec specs[] = {As<Args>::SPEC..., {}};
    Argument arguments[sizeof...(Args) + 1];
    if (!load(specs, sizeof...(Args), objects, arguments)) return nullptr;
    try {
        if constexpr (std::is_void_v<Result>) {
            Unlocked unlocked;
            Function{}(As<Args>::from(arguments[I])...);
        } else {
            Result result;
            {
                Unlocked unlocked;
                result = Function{}(As<Args>::from(arguments[I])...);
            }
            return as_object(result);
        }
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
    Py_RETURN_NONE;
}

struct Overload {
    PyObject* (*call)(PyObject* const* objects);
    Py_ssize_t n_args;
    mutable const Overload* next;
};

// Add an overload to a module; false with an error set if that fails.
bool add(PyObject* module, const char* name, Overload overload);

template <class... Args, class Result, class Class>
constexpr std::size_t n_args(Result (Class::*)(Args...) const) {
    return sizeof...(Args);
}

// A module that is being filled.
struct Module {
    PyObject* object;
    bool whole;  // whether everything so far could be added
};

template <class Function>
void bind(Module& module, const char* name, Function) {
    constexpr std::size_t n = n_args(&Function::operator());
    const auto call_this = [](PyObject* const* objects) {
        return call(&Function::operator(), std::make_index_sequence<n>(), objects);
    };
    module.whole = module.whole && add(module.object, name, {call_this, Py_ssize_t(n), nullptr});
}

}  // namespace halfseen::python
