# Finds OpenBLAS in its OpenMP build, with the header cblas.h. Sets
#   OPENBLAS_LIBRARY, OPENBLAS_INCLUDE   the files (or -NOTFOUND)
#   OPENBLAS_LIBRARIES                   what to link
#   OPENBLAS_PROBLEM                     empty, or why this OpenBLAS cannot be used
# The cache variable OPENBLAS overrides the search.
set(OPENBLAS "" CACHE PATH
    "OpenBLAS built with OpenMP: the prefix it is installed in, or the library itself")

# A choice made for another value of OPENBLAS is forgotten.
if(NOT "${OPENBLAS}" STREQUAL "${OPENBLAS_SEARCHED}")
  foreach(RESULT OPENBLAS_LIBRARY OPENBLAS_INCLUDE OPENBLAS_LINKS OPENBLAS_PARALLEL)
    unset(${RESULT} CACHE)
  endforeach()
endif()
set(OPENBLAS_SEARCHED "${OPENBLAS}" CACHE INTERNAL "OPENBLAS at the last search")

# The names that distributions give the OpenMP build come first: openblaso is Fedora's,
# openblas_openmp openSUSE's. Elsewhere it is the only one (Arch, Gentoo, conda-forge).
set(OPENBLAS_NAMES openblaso openblas_openmp openblas)
if(EASE_PYTHON)
  # The module contains OpenBLAS: a shared one of the same name, but of another build, may
  # be in the process already, loaded by NumPy.
  list(PREPEND OPENBLAS_NAMES libopenblaso.a libopenblas_openmp.a libopenblas.a)
endif()

if(OPENBLAS AND NOT EXISTS "${OPENBLAS}")
  set(OPENBLAS_LIBRARY OPENBLAS_LIBRARY-NOTFOUND)
elseif(OPENBLAS AND NOT IS_DIRECTORY "${OPENBLAS}")
  set(OPENBLAS_LIBRARY "${OPENBLAS}" CACHE FILEPATH "OpenBLAS, built with OpenMP" FORCE)
  get_filename_component(OPENBLAS_PREFIX "${OPENBLAS}/../.." ABSOLUTE)
elseif(OPENBLAS)
  set(OPENBLAS_PREFIX "${OPENBLAS}")
  find_library(OPENBLAS_LIBRARY NAMES ${OPENBLAS_NAMES} NAMES_PER_DIR
               PATHS "${OPENBLAS}" PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE}
               NO_DEFAULT_PATH)
else()
  # Debian has the OpenMP build in a directory of its own. The alternatives that choose
  # what libopenblas.so stands for may prefer the pthread build.
  set(DEBIAN_LIBRARIES /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
  set(DEBIAN_HEADERS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
  pkg_check_modules(OPENBLAS_PC QUIET openblas)
  find_library(OPENBLAS_LIBRARY NAMES ${OPENBLAS_NAMES} NAMES_PER_DIR
               PATHS ${DEBIAN_LIBRARIES} NO_DEFAULT_PATH)
  find_library(OPENBLAS_LIBRARY NAMES ${OPENBLAS_NAMES}
               HINTS ${OPENBLAS_PC_LIBRARY_DIRS} ${OPENBLAS_PC_LIBDIR})
  find_path(OPENBLAS_INCLUDE cblas.h PATHS ${DEBIAN_HEADERS} NO_DEFAULT_PATH)
endif()
if(OPENBLAS)
  find_path(OPENBLAS_INCLUDE cblas.h PATHS "${OPENBLAS_PREFIX}" NO_DEFAULT_PATH
            PATH_SUFFIXES include include/openblas include/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
find_path(OPENBLAS_INCLUDE cblas.h HINTS ${OPENBLAS_PC_INCLUDE_DIRS}
          PATH_SUFFIXES openblas openblas-openmp)

set(OPENBLAS_LIBRARIES ${OPENBLAS_LIBRARY})
if(OPENBLAS AND NOT OPENBLAS_LIBRARY)
  set(OPENBLAS_PROBLEM "There is no OpenBLAS in OPENBLAS=${OPENBLAS}")
elseif(OPENBLAS AND NOT OPENBLAS_INCLUDE)
  set(OPENBLAS_PROBLEM "There is no cblas.h in OPENBLAS=${OPENBLAS_PREFIX}")
endif()
if(NOT OPENBLAS_LIBRARY OR NOT OPENBLAS_INCLUDE)
  return()
endif()
if(OPENBLAS_LIBRARY MATCHES "[.]a$")
  # LAPACK is Fortran. The runtime is installed wherever this OpenBLAS is.
  find_library(FORTRAN_RUNTIME NAMES libgfortran.so.5 gfortran)
  if(FORTRAN_RUNTIME)
    list(APPEND OPENBLAS_LIBRARIES ${FORTRAN_RUNTIME})
  endif()
endif()

# Builds of OpenBLAS for one thread or for pthreads have the same interface. What was found
# says itself what it is; where it cannot be run, it must at least link.
if(NOT DEFINED OPENBLAS_LINKS)
  set(SOURCE ${CMAKE_CURRENT_BINARY_DIR}/openblas.c)
  file(WRITE ${SOURCE} "#include <cblas.h>
int main(void) { return openblas_get_parallel() + 10 * !openblas_get_corename(); }\n")
  set(HOW ${SOURCE} CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${OPENBLAS_INCLUDE}"
          LINK_LIBRARIES ${OPENBLAS_LIBRARIES} OpenMP::OpenMP_C m)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    try_compile(OPENBLAS_LINKS ${CMAKE_CURRENT_BINARY_DIR}/openblas ${HOW})
    set(OPENBLAS_PARALLEL 2 CACHE INTERNAL "")
  else()
    try_run(OPENBLAS_PARALLEL OPENBLAS_LINKS ${CMAKE_CURRENT_BINARY_DIR}/openblas ${HOW})
  endif()
endif()
if(NOT OPENBLAS_LINKS)
  set(OPENBLAS_PROBLEM "A program that calls ${OPENBLAS_LIBRARY} cannot be built")
elseif(OPENBLAS_PARALLEL STREQUAL "0")
  set(OPENBLAS_PROBLEM "${OPENBLAS_LIBRARY} is built for one thread, not with OpenMP")
elseif(OPENBLAS_PARALLEL STREQUAL "1")
  set(OPENBLAS_PROBLEM "${OPENBLAS_LIBRARY} is built with pthreads, not with OpenMP")
elseif(NOT OPENBLAS_PARALLEL STREQUAL "2")
  set(OPENBLAS_PROBLEM "A program that calls ${OPENBLAS_LIBRARY} fails: ${OPENBLAS_PARALLEL}")
endif()
