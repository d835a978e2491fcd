/**
 * The client as other programs load it: built to one file, imported as a module of its own.
 */
import { buildClientScript } from '../../http/openapi/client-script.ts';

export type BuiltClient = typeof import('../../http/client/index.ts');

export const clientScript = buildClientScript();

/** The file as an address for `import`. */
export const toScriptUrl = (): string => `data:text/javascript,${encodeURIComponent(clientScript)}`;

/** Loads the built file; nothing of the sources is shared with it. */
export const loadClient = async (): Promise<BuiltClient> => import(toScriptUrl());
