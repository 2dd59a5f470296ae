/*
 * Types of FMI 3.0, and what a model gives to the functions of the standard in interface.c.
 *
 * All variables are Float64, and a variable's value reference is its place in an array of values. A model
 * has a memory beside them. Both belong to an instance, so there may be any number of instances.
 */
#ifndef interface_h_included
#define interface_h_included

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || defined(__CYGWIN__)
#define FMI3_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define FMI3_EXPORT __attribute__((visibility("default")))
#else
#define FMI3_EXPORT
#endif

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

/* When a variable may be set. */
enum { NEVER, BEFORE, ALWAYS };

/* The model, in model.c. Functions return NULL, or why there is no result. */
extern const char *const model_token;       /* of the description that goes with this code */
extern const bool model_exchanged;          /* whether there is an interface for Model Exchange */
extern const size_t model_values;           /* number of values; 0 is the time */
extern const size_t model_memory;           /* numbers beside them */
extern const size_t model_states;           /* number of states */
extern const size_t model_first_state;      /* place of the first; the others follow, then the derivatives */
extern const double model_start[];          /* values before anything is set */
extern const unsigned char model_set[];     /* when each may be set */
extern const double model_nominal[];        /* sizes of the states */
const char *model_begin(double *values, double *memory);    /* states and memory from the start values */
const char *model_evaluate(double *values, double *memory); /* outputs and derivatives */
const char *model_advance(double *values, double *memory, double h); /* a step of h s from values[0] */

#endif
