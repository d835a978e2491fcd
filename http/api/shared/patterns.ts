/**
 * The text patterns used by schemas, each with a message that says in plain English what is allowed.
 *
 * Every pattern used by a route is defined here, and needs a message; a test of explain.ts checks both.
 */

import { refusedInNames } from '../../../engine/rules/text.ts';
import { sourcePattern } from '../../../engine/rules/vote-origin.ts';

export const plainText = `^[^${refusedInNames}]*$`;

/** `checkAddresses` in fields.ts checks the rest of an address. */
export const httpsText = '^https://[^\\s\\u0000-\\u001f\\u007f]+$';

export const httpsTextOrEmpty = '^(https://[^\\s]+)?$';
const platformDigits = '[0-9]{15,20}';

/** A platform's id of a bot, an application or a server. */
export const platformId = `^${platformDigits}$`;

export const platformIdOrEmpty = `^(${platformDigits})?$`;
/** An id that tokens and imports can carry. */
export const userId = '^[A-Za-z0-9-]{1,64}$';

export const packUrl = '^[A-Za-z0-9-]{3,20}$';
export const slug = '^[a-z0-9][a-z0-9_-]{0,63}$';
const uuid = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** For handlers that check an id themselves: no field uses it. */
export const uuidText = `^${uuid}$`;

export const itagText = `^(true|false|${uuid})$`;
export const pushAuth = '^[A-Za-z0-9_-]{22}(==)?$';
export const pushPoint = '^[A-Za-z0-9_-]{87}=?$';

/** The names of shields.io, or hexadecimal digits. */
export const badgeColor =
  '^([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}|brightgreen|green|yellow|yellowgreen|orange|red|blue|grey|gray|' +
  'lightgrey|lightgray|critical|important|success|informational|inactive)$';

/** The name of a process that runs shards of a bot. */
export const clusterName = '^[A-Za-z0-9_.-]*$';

/** Printable ASCII without blanks. */
export const addressText = '^[\\u0021-\\u007e]+$';

/** A whole number from 1 as text, for what is not converted to a number. */
export const countText = '^0*[1-9][0-9]*$';

/** A number of votes from 1 to 1,000,000,000,000 as text. */
export const voteCount = '^([1-9][0-9]{0,11}|10{12})$';

/** A part of the sitemap. */
export const partNumber = '^[0-9]{1,12}$';

/** A 64-bit number as text, which JSON has no number for. */
export const signedText = '^-?[0-9]{1,19}$';

/** The value of a header, as it is sent: printable ASCII without blanks at its ends. */
export const headerText = '^[!-~]+( +[!-~]+)*$';

export const patternMessages: Readonly<Record<string, string>> = {
  [plainText]: 'must have no control characters and none that change the direction of text',
  [httpsText]: 'must be an https address',
  [httpsTextOrEmpty]: 'must be an https address, or empty',
  [platformId]: 'must be 15 to 20 digits',
  [platformIdOrEmpty]: 'must be 15 to 20 digits, or empty',
  [userId]: 'must be 1 to 64 letters, digits or hyphens',
  [packUrl]: 'must be 3 to 20 of a-z, 0-9 and -',
  [slug]: 'must be 1 to 64 of a-z, 0-9, - and _, a letter or digit first',
  [itagText]: 'must be a UUID, true or false',
  [pushAuth]: 'must be 16 bytes in base64url',
  [pushPoint]: 'must be 65 bytes in base64url',
  [badgeColor]: 'must be 3 or 6 hexadecimal digits, or a name such as brightgreen, blue or lightgrey',
  [clusterName]: 'must have only a-z, A-Z, 0-9, _, . and -',
  [countText]: 'must be a whole number from 1',
  [voteCount]: 'must be a whole number from 1 to 1000000000000, in digits',
  [partNumber]: 'must be 1 to 12 digits',
  [signedText]: 'must be a whole number of up to 19 digits, with - in front if it is negative',
  [headerText]: 'must be printable ASCII without blanks at its ends',
  [addressText]: 'must be an https address',
  [sourcePattern]: 'must be 1 to 64 letters, digits, dots, underscores, tildes or hyphens',
};
