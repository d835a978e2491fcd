/**
 * The accent of the pages can be read on light and on dark, whatever colour an operator chooses.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeContrast, deriveAccents } from '../../../http/site/colors.ts';
import { backgrounds } from '../../../http/site/site.ts';

const test = suite('accents');

test('black on white has the greatest contrast', () => {
  assert.is(Math.round(computeContrast('#000', '#ffffff')), 21);
  assert.is(computeContrast('#123456', '#123456'), 1);
});

test('each colour of a grid becomes readable; one that is readable stays', () => {
  const steps = ['00', '33', '80', 'cc', 'ff'];
  for (const red of steps)
    for (const green of steps)
      for (const blue of steps) {
        const { light, dark } = deriveAccents(`#${red}${green}${blue}`, backgrounds);
        assert.ok(computeContrast(light, backgrounds.light) >= 4.5, light);
        assert.ok(computeContrast(dark, backgrounds.dark) >= 4.5, dark);
      }
  assert.is(deriveAccents('#1f5fbf', backgrounds).light, '#1f5fbf');
});

test.run();
