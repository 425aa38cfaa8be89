// The part of the bindings that is the same for all functions.
#include "python.hpp"

#include <cstring>

namespace halfseen::python {

namespace {

// The functions of one name. They live as long as the process, as the module does.
struct Function {
    const char* name;
    PyMethodDef method;
    const Overload* first;
};

// Whether a format of the buffer protocol is that of one native number of this kind.
bool is_of_kind(const char* format, char kind) {
    if (format == nullptr) return kind == 'u';
    if (*format == '@' || *format == '=' || *format == (PY_BIG_ENDIAN ? '>' : '<')) ++format;
    if (format[0] == 0 || format[1] != 0) return false;
    const char* signs = kind == 'f' ? "fd" : kind == 'i' ? "bhilqn" : "BHILQN";
    return std::strchr(signs, format[0]) != nullptr;
}

bool take_array(PyObject* object, const Spec& spec, Argument& argument) {
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (spec.writes ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &argument.buffer, flags) != 0) {
        PyErr_Clear();
        return false;
    }
    argument.taken = true;
    const Py_buffer& found = argument.buffer;
    return found.ndim == spec.n_dims && found.itemsize == spec.size && is_of_kind(found.format, spec.kind);
}

bool take_number(PyObject* object, const Spec& spec, Argument& argument) {
    if (spec.kind == 'f') {
        argument.real = PyFloat_AsDouble(object);
    } else if (spec.kind == '?') {
        argument.whole = PyObject_IsTrue(object);
    } else {
        PyObject* whole = PyNumber_Index(object);
        if (whole != nullptr) argument.whole = PyLong_AsLongLong(whole);
        Py_XDECREF(whole);
    }
    if (PyErr_Occurred() == nullptr) return spec.kind != 'u' || argument.whole >= 0;
    PyErr_Clear();
    return false;
}

PyObject* dispatch(PyObject* self, PyObject* const* objects, Py_ssize_t n) {
    const auto* function = static_cast<const Function*>(PyCapsule_GetPointer(self, nullptr));
    if (function == nullptr) return nullptr;
    for (const Overload* one = function->first; one != nullptr; one = one->next) {
        if (one->n_args != n) continue;
        PyObject* result = one->call(objects);
        if (result != nullptr || PyErr_Occurred() != nullptr) return result;
    }
    return PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments", function->name);
}

Function* function_named(PyObject* module, const char* name) {
    PyObject* known = PyObject_GetAttrString(module, name);
    if (known != nullptr) {
        void* found = PyCapsule_GetPointer(PyCFunction_GetSelf(known), nullptr);
        Py_DECREF(known);
        return static_cast<Function*>(found);
    }
    PyErr_Clear();
    auto* made = new Function{name, {}, nullptr};
    made->method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dispatch)), METH_FASTCALL, nullptr};
    PyObject *self = PyCapsule_New(made, nullptr, nullptr), *home = PyModule_GetNameObject(module);
    PyObject* function = self == nullptr || home == nullptr ? nullptr : PyCFunction_NewEx(&made->method, self, home);
    Py_XDECREF(self);
    Py_XDECREF(home);
    if (function == nullptr || PyModule_AddObject(module, name, function) != 0) return nullptr;
    return made;
}

}  // namespace

bool load(const Spec* specs, std::size_t n, PyObject* const* objects, Argument* arguments) {
    for (std::size_t i = 0; i < n; ++i) {
        const bool fits = specs[i].n_dims > 0 ? take_array(objects[i], specs[i], arguments[i])
                                              : take_number(objects[i], specs[i], arguments[i]);
        if (!fits) return false;
    }
    return true;
}

bool add(PyObject* module, const char* name, Overload overload) {
    Function* function = function_named(module, name);
    if (function == nullptr) return false;
    const Overload** last = &function->first;
    while (*last != nullptr) last = &(*last)->next;
    *last = new Overload(overload);
    return true;
}

}  // namespace halfseen::python
