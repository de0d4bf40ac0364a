// Asked by the library in test programs, which define STRATAGEMM_TILES_EMULATED, where there is no tile unit: whether
// its instructions are emulated. They are from then on if STRATAGEMM_ISA=amx asks for them.
#pragma once

bool tiles_are_emulated();
