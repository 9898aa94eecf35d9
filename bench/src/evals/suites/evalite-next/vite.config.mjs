// Without this file, evalite would use the configuration of the tests of turnwright.
export default {};
