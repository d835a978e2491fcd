/**
 * Whether the settings of the login fit together: all of one provider, or none. Pure. Called by config.ts.
 */
import { type SettingName, type Settings, toVariable } from './settings.ts';

const addresses = ['loginAuthorizeUrl', 'loginTokenUrl', 'loginProfileUrl'] as const;
const always = ['loginClientId', 'loginClientSecret', 'loginRedirectUris'] as const;
const isSet = (settings: Partial<Settings>) => (name: SettingName) =>
  (settings[name] ?? '').toString() !== '';
const isKnown = (settings: Partial<Settings>) => (name: SettingName) => settings[name] !== undefined;

/** Words for a login that is configured by halves; settings that are wrong already are left out. */
export const listLoginMistakes = (settings: Partial<Settings>): string[] => {
  const set = isSet(settings);
  if (![...always, ...addresses, 'loginIssuer' as const].every(isKnown(settings))) return [];
  if (![...always, ...addresses, 'loginIssuer' as const].some(set)) return [];
  const missing = always.filter((name) => !set(name)).map(toVariable);
  const mistakes = missing.map((variable) => `${variable}: a login provider is named, so it must be set too`);
  const named = addresses.filter(set);
  if (set('loginIssuer') ? named.length > 0 : named.length < addresses.length) {
    const words = [...addresses].map(toVariable).join(', ');
    mistakes.push(`LOGIN_ISSUER: set either it, or all of ${words}`);
  }
  return mistakes;
};
