/**
 * The operators that the settings name: ADMIN_TOKEN, or the token in the data folder, belongs to the operator
 * `admin`; ADMIN_TOKENS names others. Pure.
 */
import type { Operator } from '../../http/operator/operators.ts';
import type { Settings } from './settings.ts';

const adminName = 'admin';

const parseOperator = (text: string): Operator => {
  const [name = '', token = '', right] = text.split(':');
  return { name, token, readOnly: right === 'read' };
};

/**
 * `adminToken` is the token of the operator `admin`. One that ADMIN_TOKENS has, too, belongs to the operator
 * named there: it must not gain a right that its entry denies.
 */
export const listOperators = (
  { adminTokens }: Pick<Settings, 'adminTokens'>,
  adminToken: string,
): readonly Operator[] => {
  const named = adminTokens.map(parseOperator);
  const isNamed = named.some(({ token }) => token === adminToken);
  return isNamed ? named : [{ name: adminName, token: adminToken, readOnly: false }, ...named];
};

const findRepeated = (values: readonly string[]): string | undefined =>
  values.find((value, index) => value !== '' && values.indexOf(value) !== index);

/**
 * Mistakes in ADMIN_TOKENS that its pattern cannot find. The messages contain no token. An ADMIN_TOKEN that
 * is already wrong is absent here, and may become that of an operator named `admin`.
 */
export const listOperatorMistakes = ({ adminTokens, adminToken }: Partial<Settings>): readonly string[] => {
  if (adminTokens === undefined) return [];
  const operators =
    adminToken === undefined ? adminTokens.map(parseOperator) : listOperators({ adminTokens }, adminToken);
  const repeatedName = findRepeated(operators.map(({ name }) => name));
  const repeatedToken = findRepeated(operators.map(({ token }) => token));
  const owners = operators.filter(({ token }) => token === repeatedToken).map(({ name }) => name);
  const isAdminTaken =
    adminToken !== undefined &&
    operators.some(({ name, token }) => name === adminName && token !== adminToken);
  return [
    ...(isAdminTaken
      ? ['ADMIN_TOKENS: the name admin belongs to ADMIN_TOKEN; choose another name']
      : repeatedName === undefined
        ? []
        : [`ADMIN_TOKENS: the name ${repeatedName} is there twice; each token needs a name of its own`]),
    ...(repeatedToken === undefined
      ? []
      : [`ADMIN_TOKENS: ${owners.join(' and ')} have the same token; each needs one of its own`]),
  ];
};
