# tenon_add_plugin(NAME SOURCE... [CARD file]
#                  [ID id] [VERSION version] [MIN_HOST_MINOR n] [CPU_FEATURES feature...] [NEEDS library...])
#
# A plugin as the loader expects it: NAME.so, hidden but for its entry, linked to nothing of Tenon, with its identity card
# NAME.tenon.json beside it. Id, version and ABI are what the library says of itself (tn_plugin); ID, VERSION and MIN_HOST_MINOR,
# here or in CARD, a card in the source tree, must agree, and are needed where the library cannot be opened, as when it is built for
# another CPU. CPU_FEATURES: without which the library must not be opened. NEEDS: native libraries.
# `cmake --install` puts both into lib/tenon/plugins/NAME; below ~/.local they are found without further ado.

# Functions see the variables of their caller, not of this file.
set_property(GLOBAL PROPERTY TENON_PLUGIN_MAP "${_tenon_map}")
set_property(GLOBAL PROPERTY TENON_IDENTITY_CARD "${_tenon_card}")
set_property(GLOBAL PROPERTY TENON_BASE_HEADER "${_tenon_header}")

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CARD;ID;VERSION;MIN_HOST_MINOR" "CPU_FEATURES;NEEDS")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): no source file given")
  endif()
  if(arg_CARD)
    get_filename_component(arg_CARD "${arg_CARD}" ABSOLUTE)
  endif()
  # What is not given here stays as the card has it.
  set(facts "")
  foreach(fact CARD ID VERSION MIN_HOST_MINOR CPU_FEATURES NEEDS)
    if(DEFINED arg_${fact})
      string(TOLOWER "--${fact}" option)
      string(REPLACE "_" "-" option "${option}")
      list(APPEND facts "${option}" ${arg_${fact}})
    endif()
  endforeach()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT Python3_Interpreter_FOUND)
    message(FATAL_ERROR "tenon_add_plugin(${name}): the identity card is written by Python 3, which was not found")
  endif()
  get_property(map GLOBAL PROPERTY TENON_PLUGIN_MAP)
  set(inputs "${map}" ${arg_CARD})
  get_property(writer GLOBAL PROPERTY TENON_IDENTITY_CARD)
  get_property(header GLOBAL PROPERTY TENON_BASE_HEADER)

  add_library(${name} MODULE ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE Tenon::sdk)
  target_link_options(${name} PRIVATE "-Wl,--version-script=${map}" "-Wl,-Bsymbolic" "-Wl,--no-undefined")
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${inputs}")
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND "${Python3_EXECUTABLE}" "${writer}" "$<TARGET_FILE:${name}>" --header "${header}" ${facts} --sha256
      --out "$<TARGET_FILE_DIR:${name}>/${name}.tenon.json"
    COMMENT "Writing the identity card ${name}.tenon.json" VERBATIM)

  # Installing may change the library's run path: the card gets its hash anew.
  set(place "lib/tenon/plugins/${name}")
  install(TARGETS ${name} LIBRARY DESTINATION "${place}")
  install(FILES "$<TARGET_FILE_DIR:${name}>/${name}.tenon.json" DESTINATION "${place}")
  install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${writer}\"
    --refresh \"\${CMAKE_INSTALL_PREFIX}/${place}/${name}.tenon.json\" COMMAND_ERROR_IS_FATAL ANY)")
endfunction()
