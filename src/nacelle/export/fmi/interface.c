/* The functions of FMI 3.0 around a model: see interface.h. */
#include "interface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { CREATED, BEGINNING, EVENTS, CONTINUOUS, STEPPING, ENDED, BROKEN } Mode;

typedef struct {
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    bool exchanged; /* whether this instance is one of Model Exchange */
    bool with_events; /* whether its co-simulation uses event mode */
    Mode mode;
    bool stale;      /* whether outputs belong to other values */
    double *numbers; /* values, then memory */
} Instance;

static size_t size_of_numbers(void)
{
    return model_values + model_memory;
}

static fmi3Status said(Instance *c, fmi3Status status, const char *category, const char *text)
{
    if (c->log != NULL) {
        c->log(c->environment, status, category, text);
    }
    return status;
}

static fmi3Status refused(fmi3Instance instance, const char *text)
{
    return instance == NULL ? fmi3Error : said(instance, fmi3Error, "logStatusError", text);
}

/* Values as they belong together: states where nothing has begun, outputs and derivatives. */
static fmi3Status refresh(Instance *c)
{
    if (!c->stale) {
        return fmi3OK;
    }
    const char *reason = NULL;
    if (c->mode == CREATED || c->mode == BEGINNING) {
        reason = model_begin(c->numbers, c->numbers + model_values);
    }
    if (reason == NULL) {
        reason = model_evaluate(c->numbers, c->numbers + model_values);
    }
    if (reason != NULL) {
        return said(c, c->mode == BEGINNING || c->mode == CREATED ? fmi3Error : fmi3Discard, "logStatusError", reason);
    }
    c->stale = false;
    return fmi3OK;
}

static void restart(Instance *c)
{
    memset(c->numbers, 0, size_of_numbers() * sizeof(double));
    memcpy(c->numbers, model_start, model_values * sizeof(double));
    c->mode = CREATED;
    c->stale = true;
}

static fmi3Instance created(fmi3String token, bool exchanged, bool with_events, fmi3InstanceEnvironment environment,
                            fmi3LogMessageCallback log)
{
    if (token == NULL || strcmp(token, model_token) != 0) {
        if (log != NULL) {
            log(environment, fmi3Error, "logStatusError", "the instantiation token is not that of this code");
        }
        return NULL;
    }
    Instance *c = calloc(1, sizeof(Instance));
    double *numbers = calloc(size_of_numbers(), sizeof(double));
    if (c == NULL || numbers == NULL) {
        free(c);
        free(numbers);
        return NULL;
    }
    c->environment = environment;
    c->log = log;
    c->exchanged = exchanged;
    c->with_events = with_events;
    c->numbers = numbers;
    restart(c);
    return c;
}

/* ------------------------------------------------------------------------ life of an instance */

FMI3_EXPORT const char *fmi3GetVersion(void)
{
    return "3.0";
}

FMI3_EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String names[])
{
    (void)instance, (void)on, (void)n, (void)names;
    return fmi3OK;
}

FMI3_EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                      fmi3Boolean visible, fmi3Boolean logging,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    return model_exchanged ? created(token, true, true, environment, log) : NULL;
}

FMI3_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                                     fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean events,
                                                     fmi3Boolean early, const fmi3ValueReference required[],
                                                     size_t n, fmi3InstanceEnvironment environment,
                                                     fmi3LogMessageCallback log,
                                                     fmi3IntermediateUpdateCallback intermediate)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)early, (void)required, (void)n, (void)intermediate;
    return created(token, false, events, environment, log);
}

FMI3_EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                           fmi3Boolean visible, fmi3Boolean logging,
                                                           fmi3InstanceEnvironment environment,
                                                           fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
                                                           fmi3LockPreemptionCallback lock,
                                                           fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    (void)update, (void)lock, (void)unlock;
    return NULL;
}

FMI3_EXPORT void fmi3FreeInstance(fmi3Instance instance)
{
    if (instance != NULL) {
        free(((Instance *)instance)->numbers);
        free(instance);
    }
}

FMI3_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean tolerant, fmi3Float64 tolerance,
                                                   fmi3Float64 start, fmi3Boolean ends, fmi3Float64 stop)
{
    (void)tolerant, (void)tolerance, (void)ends, (void)stop;
    Instance *c = instance;
    if (c->mode != CREATED) {
        return refused(c, "initialization begins once, after instantiation or a reset");
    }
    c->numbers[0] = start;
    c->mode = BEGINNING;
    c->stale = true;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    Instance *c = instance;
    if (c->mode != BEGINNING) {
        return refused(c, "initialization has not begun");
    }
    c->stale = true;
    const fmi3Status status = refresh(c);
    if (status == fmi3OK) {
        c->mode = c->with_events ? EVENTS : STEPPING;
    }
    return status;
}

FMI3_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ((Instance *)instance)->mode = EVENTS;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    ((Instance *)instance)->mode = CONTINUOUS;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ((Instance *)instance)->mode = STEPPING;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3Terminate(fmi3Instance instance)
{
    ((Instance *)instance)->mode = ENDED;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3Reset(fmi3Instance instance)
{
    restart(instance);
    return fmi3OK;
}

/* ----------------------------------------------------------------------------------- variables */

FMI3_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference places[], size_t n,
                                      fmi3Float64 values[], size_t size)
{
    Instance *c = instance;
    if (n != size) {
        return refused(c, "all variables are scalars");
    }
    bool computed = false;
    for (size_t i = 0; i < n; ++i) {
        if (places[i] >= model_values) {
            return refused(c, "there is no variable of this value reference");
        }
        computed = computed || model_set[places[i]] == NEVER;
    }
    const fmi3Status status = computed ? refresh(c) : fmi3OK;
    if (status > fmi3Warning) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        values[i] = c->numbers[places[i]];
    }
    return status;
}

FMI3_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference places[], size_t n,
                                      const fmi3Float64 values[], size_t size)
{
    Instance *c = instance;
    if (n != size) {
        return refused(c, "all variables are scalars");
    }
    const unsigned char least = (c->mode == CREATED || c->mode == BEGINNING) ? BEFORE : ALWAYS;
    for (size_t i = 0; i < n; ++i) {
        if (places[i] >= model_values || model_set[places[i]] < least) {
            return refused(c, "a variable cannot be set, or not any more");
        }
    }
    for (size_t i = 0; i < n; ++i) {
        c->numbers[places[i]] = values[i];
    }
    c->stale = true;
    return fmi3OK;
}

/* Variables of other types: there are none. */
#define NONE(Type)                                                                                                    \
    FMI3_EXPORT fmi3Status fmi3Get##Type(fmi3Instance c, const fmi3ValueReference p[], size_t n, fmi3##Type v[],       \
                                         size_t size)                                                                 \
    {                                                                                                                 \
        (void)p, (void)v;                                                                                             \
        return n == 0 && size == 0 ? fmi3OK : refused(c, "all variables are Float64");                                \
    }                                                                                                                 \
    FMI3_EXPORT fmi3Status fmi3Set##Type(fmi3Instance c, const fmi3ValueReference p[], size_t n,                       \
                                         const fmi3##Type v[], size_t size)                                           \
    {                                                                                                                 \
        (void)p, (void)v;                                                                                             \
        return n == 0 && size == 0 ? fmi3OK : refused(c, "all variables are Float64");                                \
    }

NONE(Float32)
NONE(Int8)
NONE(UInt8)
NONE(Int16)
NONE(UInt16)
NONE(Int32)
NONE(UInt32)
NONE(Int64)
NONE(UInt64)
NONE(Boolean)
NONE(String)

FMI3_EXPORT fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference p[], size_t n, size_t sizes[],
                                     fmi3Binary v[], size_t size)
{
    (void)p, (void)sizes, (void)v;
    return n == 0 && size == 0 ? fmi3OK : refused(c, "all variables are Float64");
}

FMI3_EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference p[], size_t n, const size_t sizes[],
                                     const fmi3Binary v[], size_t size)
{
    (void)p, (void)sizes, (void)v;
    return n == 0 && size == 0 ? fmi3OK : refused(c, "all variables are Float64");
}

FMI3_EXPORT fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference p[], size_t n, fmi3Clock v[])
{
    (void)p, (void)v;
    return n == 0 ? fmi3OK : refused(c, "there are no clocks");
}

FMI3_EXPORT fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference p[], size_t n, const fmi3Clock v[])
{
    (void)p, (void)v;
    return n == 0 ? fmi3OK : refused(c, "there are no clocks");
}

/* ------------------------------------------------------------------------- states to come back to */

FMI3_EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    (void)instance;
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    (void)instance, (void)state;
    *size = (size_of_numbers() + 1) * sizeof(double);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    Instance *c = instance;
    double *kept = *state != NULL ? *state : malloc((size_of_numbers() + 1) * sizeof(double));
    if (kept == NULL) {
        return refused(c, "there is no memory for the state");
    }
    kept[0] = (double)c->mode;
    memcpy(kept + 1, c->numbers, size_of_numbers() * sizeof(double));
    *state = kept;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    Instance *c = instance;
    if (state == NULL) {
        return refused(c, "there is no state to come back to");
    }
    const double *kept = state;
    c->mode = (Mode)kept[0];
    memcpy(c->numbers, kept + 1, size_of_numbers() * sizeof(double));
    c->stale = true;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (state == NULL || size < (size_of_numbers() + 1) * sizeof(double)) {
        return refused(instance, "the state does not fit");
    }
    memcpy(bytes, state, (size_of_numbers() + 1) * sizeof(double));
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size,
                                               fmi3FMUState *state)
{
    const size_t whole = (size_of_numbers() + 1) * sizeof(double);
    double *kept = size == whole ? malloc(whole) : NULL;
    if (kept == NULL) {
        return refused(instance, "these bytes are no state of this model");
    }
    memcpy(kept, bytes, whole);
    *state = kept;
    return fmi3OK;
}

/* ------------------------------------------------------------------------------ model exchange */

FMI3_EXPORT fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    Instance *c = instance;
    c->numbers[0] = time;
    c->stale = true;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n)
{
    (void)instance;
    *n = model_states;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n)
{
    (void)instance;
    *n = 0;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 values[], size_t n)
{
    (void)values;
    return n == 0 ? fmi3OK : refused(instance, "there are no event indicators");
}

static fmi3Status states_at(Instance *c, size_t first, double *values, size_t n)
{
    if (n != model_states) {
        return refused(c, "the number of states is another one");
    }
    const fmi3Status status = refresh(c);
    if (status <= fmi3Warning && n > 0) {
        memcpy(values, c->numbers + first, n * sizeof(double));
    }
    return status;
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 values[], size_t n)
{
    return states_at(instance, model_first_state, values, n);
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 values[], size_t n)
{
    return states_at(instance, model_first_state + model_states, values, n);
}

FMI3_EXPORT fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 values[], size_t n)
{
    Instance *c = instance;
    if (n != model_states) {
        return refused(c, "the number of states is another one");
    }
    if (n > 0) {
        memcpy(c->numbers + model_first_state, values, n * sizeof(double));
    }
    c->stale = true;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 values[], size_t n)
{
    if (n != model_states) {
        return refused(instance, "the number of states is another one");
    }
    for (size_t i = 0; i < n; ++i) {
        values[i] = model_nominal[i];
    }
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean no_return, fmi3Boolean *events,
                                                   fmi3Boolean *ends)
{
    (void)instance, (void)no_return;
    *events = false;
    *ends = false;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *ends,
                                                fmi3Boolean *nominals, fmi3Boolean *states, fmi3Boolean *next,
                                                fmi3Float64 *time)
{
    (void)instance, (void)time;
    *again = *ends = *nominals = *states = *next = false;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    (void)instance;
    return fmi3OK;
}

/* --------------------------------------------------------------------------------- co-simulation */

FMI3_EXPORT fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 time, fmi3Float64 h, fmi3Boolean no_return,
                                  fmi3Boolean *events, fmi3Boolean *ends, fmi3Boolean *early, fmi3Float64 *last)
{
    (void)no_return;
    Instance *c = instance;
    *events = *ends = *early = false;
    *last = c->numbers[0];
    if (c->exchanged || c->mode != STEPPING || !(h > 0.0) || !isfinite(time)) {
        return refused(c, "a step needs step mode and a positive size");
    }
    c->numbers[0] = time;
    const char *reason = model_advance(c->numbers, c->numbers + model_values, h);
    c->stale = true;
    if (reason != NULL) {
        c->mode = BROKEN;
        return refused(c, reason);
    }
    c->numbers[0] = time + h;
    *last = time + h;
    return fmi3OK;
}

/* ------------------------------------------------------------------- what the description denies */

#define DENIED(name, ...)                                                                                             \
    FMI3_EXPORT fmi3Status name(fmi3Instance instance, __VA_ARGS__)                                                   \
    {                                                                                                                 \
        return refused(instance, #name " is not provided, as the description says");                                  \
    }

DENIED(fmi3GetNumberOfVariableDependencies, fmi3ValueReference p, size_t *n)
DENIED(fmi3GetVariableDependencies, fmi3ValueReference p, size_t a[], fmi3ValueReference b[], size_t d[],
       fmi3DependencyKind e[], size_t n)
DENIED(fmi3GetDirectionalDerivative, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk,
       const fmi3Float64 s[], size_t ns, fmi3Float64 r[], size_t nr)
DENIED(fmi3GetAdjointDerivative, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk,
       const fmi3Float64 s[], size_t ns, fmi3Float64 r[], size_t nr)
DENIED(fmi3GetOutputDerivatives, const fmi3ValueReference p[], size_t n, const fmi3Int32 o[], fmi3Float64 v[],
       size_t size)
DENIED(fmi3GetIntervalDecimal, const fmi3ValueReference p[], size_t n, fmi3Float64 v[], fmi3IntervalQualifier q[])
DENIED(fmi3GetIntervalFraction, const fmi3ValueReference p[], size_t n, fmi3UInt64 v[], fmi3UInt64 r[],
       fmi3IntervalQualifier q[])
DENIED(fmi3GetShiftDecimal, const fmi3ValueReference p[], size_t n, fmi3Float64 v[])
DENIED(fmi3GetShiftFraction, const fmi3ValueReference p[], size_t n, fmi3UInt64 v[], fmi3UInt64 r[])
DENIED(fmi3SetIntervalDecimal, const fmi3ValueReference p[], size_t n, const fmi3Float64 v[])
DENIED(fmi3SetIntervalFraction, const fmi3ValueReference p[], size_t n, const fmi3UInt64 v[], const fmi3UInt64 r[])
DENIED(fmi3SetShiftDecimal, const fmi3ValueReference p[], size_t n, const fmi3Float64 v[])
DENIED(fmi3SetShiftFraction, const fmi3ValueReference p[], size_t n, const fmi3UInt64 v[], const fmi3UInt64 r[])
DENIED(fmi3ActivateModelPartition, fmi3ValueReference p, fmi3Float64 t)

FMI3_EXPORT fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    return refused(instance, "there are no structural parameters");
}

FMI3_EXPORT fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    return refused(instance, "there are no structural parameters");
}
