// Written by third_party/refresh: the one module that names the vendored files.
import { h } from '../third_party/preact-11.2.0.86c693f569.mjs';
import htm from '../third_party/htm-3.1.1.ab33dd3f38.mjs';

export { render, h, Fragment } from '../third_party/preact-11.2.0.86c693f569.mjs';
export {
  useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from '../third_party/preact-hooks-11.2.0.f3d0a26e97.mjs';

/** Markup as a tagged template: what is interpolated is always text or a component, never HTML. */
export const html = htm.bind(h);
