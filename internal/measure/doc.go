// Package measure has what the library's speed is measured on and with: the groups ([Case]), the least that any assignor has to do
// ([Floor]) and a sampler that takes functions in turns ([Sample]) and reads the processor's time, so that what else the machine
// does hits all alike. Figures of two runs say little about each other; ratios within one do.
package measure
